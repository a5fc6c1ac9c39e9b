//! Laws that every dialect keeps, in a loop over the table: a new one is covered the day it is
//! registered.

mod never_panics;
mod table;
