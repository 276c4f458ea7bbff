//! Turns a verified network into wiring code through Handlebars skeletons.
