mod near;
