// `assert/strict`.
module.exports = need("assert").strict;
