//! Holds the lock of a test project's only session until it is dropped.

use std::fs::File;

use crate::test_project::TestProject;

pub struct LockHolder(File);

impl LockHolder {
    pub fn of(project: &TestProject) -> Self {
        let files = std::fs::read_dir(project.base.join("state/sessions")).unwrap();
        let mut files = files.map(|entry| entry.unwrap().path());
        let lock = files.find(|path| path.extension().is_some_and(|e| e == "lock")).unwrap();
        let lock = File::options().write(true).open(lock).unwrap();
        lock.lock().unwrap();
        Self(lock)
    }
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        // Closing is not enough: a child that another test is just starting may have a copy.
        self.0.unlock().unwrap();
    }
}
