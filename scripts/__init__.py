"""Programs run by hand; a package, because verl installs one called `scripts` that would hide a plain folder."""
