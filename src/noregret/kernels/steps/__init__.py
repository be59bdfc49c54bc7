"""One formula in one place: the compiled steps that several algorithms share."""
