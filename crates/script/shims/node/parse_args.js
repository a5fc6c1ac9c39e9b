// `util.parseArgs`: the words of a command as options and the rest.
const { coded, wrongType } = need("errors");
const wrong = (name, wanted, value) => {
  const made = wrongType(name, wanted, value);
  if (name.includes(".")) made.message = made.message.replace('" argument', '" property');
  return made;
};
const needType = (name, type, value) => {
  const fits = type === "object" ? typeof value === "object" && value !== null && !Array.isArray(value) : typeof value === type;
  if (!fits) throw wrong(name, `of type ${type}`, value);
};
const needList = (name, value) => {
  if (!Array.isArray(value)) throw wrong(name, "an instance of Array", value);
};
const checkDefault = (name, { type, multiple }, value) => {
  if (!multiple) return needType(name, type, value);
  needList(name, value);
  value.forEach((one, at) => needType(`${name}[${at}]`, type, one));
};
const checkOption = (name, option) => {
  const at = `options.${name}`;
  needType(at, "object", option);
  if (!["string", "boolean"].includes(option.type)) throw wrong(`${at}.type`, "('string|boolean')", option.type);
  if (option.short !== undefined) {
    needType(`${at}.short`, "string", option.short);
    if (option.short.length !== 1) throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The property '${at}.short' must be a single character. Received '${option.short}'`);
  }
  if (option.multiple !== undefined) needType(`${at}.multiple`, "boolean", option.multiple);
  if (option.default !== undefined) checkDefault(`${at}.default`, option, option.default);
};

// The words one by one, each with the place where it stood.
const tokensOf = (args, options) => {
  const own = (name) => (Object.hasOwn(options, name) ? options[name] : undefined);
  const long = (short) => Object.keys(options).find((name) => options[name].short === short) ?? short;
  const takes = (name) => own(name)?.type === "string";
  const words = args.map((word, index) => ({ word: `${word}`, index }));
  const tokens = [];
  const lone = (name, rawName, index) => {
    const given = takes(name) && words.length ? { value: words.shift().word, inlineValue: false } : { value: undefined, inlineValue: undefined };
    tokens.push({ kind: "option", name, rawName, index, ...given });
  };
  const joined = (name, rawName, index, value) => tokens.push({ kind: "option", name, rawName, index, value, inlineValue: true });
  while (words.length) {
    const { word, index } = words.shift();
    if (word === "--") {
      tokens.push({ kind: "option-terminator", index });
      for (const rest of words.splice(0)) tokens.push({ kind: "positional", index: rest.index, value: rest.word });
    } else if (/^-[^-]$/.test(word)) lone(long(word[1]), word, index);
    else if (/^-[^-]/.test(word)) {
      const name = long(word[1]);
      if (takes(name)) joined(name, word.slice(0, 2), index, word.slice(2));
      // `-ab` is `-a -b`.
      else words.unshift({ word: word.slice(0, 2), index }, { word: `-${word.slice(2)}`, index });
    } else if (/^--./.test(word)) {
      const equals = word.indexOf("=", 3);
      if (equals < 0) lone(word.slice(2), word, index);
      else joined(word.slice(2, equals), word.slice(0, equals), index, word.slice(equals + 1));
    } else tokens.push({ kind: "positional", index, value: word });
  }
  return tokens;
};
const badValue = (message) => coded(TypeError, "ERR_PARSE_ARGS_INVALID_OPTION_VALUE", message);
const checkToken = ({ name, rawName, value, inlineValue }, options, allowPositionals) => {
  if (!Object.hasOwn(options, name)) {
    const hint = allowPositionals ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- "${rawName}"` : "";
    throw coded(TypeError, "ERR_PARSE_ARGS_UNKNOWN_OPTION", `Unknown option '${rawName}'${hint}`);
  }
  const { short, type } = options[name];
  const shown = `${short ? `-${short}, ` : ""}--${name}`;
  if (type === "string" && typeof value !== "string") throw badValue(`Option '${shown} <value>' argument missing`);
  if (type === "boolean" && typeof value === "string") throw badValue(`Option '${shown}' does not take an argument`);
  if (inlineValue === false && /^-[^]/.test(value)) {
    const example = rawName.startsWith("--") ? `'${rawName}=-XYZ'` : `'--${name}=-XYZ' or '${rawName}-XYZ'`;
    throw badValue(`Option '${rawName}' argument is ambiguous.\nDid you forget to specify the option argument for '${rawName}'?\nTo specify an option argument starting with a dash use ${example}.`);
  }
};
// `--no-colour` says the contrary of `--colour`, where that is allowed.
const negated = (token, options) => {
  const name = token.name.slice(3);
  const contrary = token.name.startsWith("no-") && token.value === undefined && Object.hasOwn(options, name) && options[name].type === "boolean";
  return contrary ? { ...token, name, value: false } : token;
};
const parseArgs = (config = {}) => {
  const { args = globalThis.process.argv.slice(2), strict = true, allowNegative = false, options = {}, tokens: told = false } = config;
  const { allowPositionals = !strict } = config;
  needList("args", args);
  for (const [name, value] of Object.entries({ strict, allowPositionals, tokens: told, allowNegative })) needType(name, "boolean", value);
  needType("options", "object", options);
  for (const [name, option] of Object.entries(options)) checkOption(name, option);
  const [values, positionals] = [Object.create(null), []];
  const tokens = tokensOf(args, options);
  for (const token of tokens) {
    if (token.kind === "option") {
      const { name, value } = allowNegative ? negated(token, options) : token;
      if (strict) checkToken({ ...token, name, value }, options, allowPositionals);
      if (name === "__proto__") continue;
      if (options[name]?.multiple) (values[name] ??= []).push(value ?? true);
      else values[name] = value ?? true;
    } else if (token.kind === "positional") {
      if (!allowPositionals) throw coded(TypeError, "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL", `Unexpected argument '${token.value}'. This command does not take positional arguments`);
      positionals.push(token.value);
    }
  }
  for (const [name, option] of Object.entries(options)) if (option.default !== undefined && !(name in values)) values[name] = option.default;
  return told ? { values, positionals, tokens } : { values, positionals };
};
module.exports = { parseArgs };
