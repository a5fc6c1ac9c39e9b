//! Tests through the face: contract cases run scripted and real, and the command line itself.

mod contracts;
