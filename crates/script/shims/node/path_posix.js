// `path/posix`.
module.exports = need("path");
