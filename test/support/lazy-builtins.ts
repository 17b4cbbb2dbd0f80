/**
 * Node's own modules as the bundles get them. An import statement asks for every export of a module, including those that are loaded only then: `node:http`
 * loads the program of `fetch` and `WebSocket`, 4 MB that no node uses. Taken as an object, the module loads only used exports.
 */
import { isBuiltin } from 'node:module';
import type { Plugin } from 'esbuild';

const namespace = 'builtin';

export const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup(build) {
    build.onResolve({ filter: /^node:|^[a-z]/ }, ({ path, kind }) =>
      isBuiltin(path) && kind === 'import-statement' ? { path: path.replace(/^node:/, ''), namespace } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
      contents: `module.exports = require('node:${path}')`,
    }));
  },
};
