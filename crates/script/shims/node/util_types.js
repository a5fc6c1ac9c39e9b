// `util/types`.
module.exports = need("util").types;
