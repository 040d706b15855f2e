// A part of the bundled library: see engine.mjs.

/** Compiles a function when it is first called. Its text is of this package, never of a user. */
export function lazily(textOf) {
  let compiled;
  return (imports) => {
    compiled ??= compile(`(${textOf()})`);
    return compiled(imports);
  };
}

function compile(text) {
  // Also where --disallow-code-generation-from-strings forbids the constructor of functions.
  const vm = globalThis.process?.getBuiltinModule?.('node:vm');
  if (vm !== undefined)
    return new vm.Script(text, { filename: 'zerotime:engine' }).runInThisContext();
  return new Function(`return ${text}`)();
}
