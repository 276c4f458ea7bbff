//! Conversion of handles to and from integers of Fortran (MPI-5.0, section 19.3.4).
