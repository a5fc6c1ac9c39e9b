//! A macro for tables whose rows are built from constants: one line per column instead of a method.

/// Defines methods of a row that return it with other values in some columns.
#[macro_export]
macro_rules! row_setters {
    ($(
        $(#[$about:meta])*
        $name:ident($($arg:ident: $type:ty),*) { $($($column:ident).+ = $value:expr),+ }
    )+) => {$(
        $(#[$about])*
        #[must_use]
        pub const fn $name(mut self, $($arg: $type),*) -> Self {
            $(self.$($column).+ = $value;)+
            self
        }
    )+};
}
