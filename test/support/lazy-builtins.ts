/**
 * Changes how the bundles load Node's own modules. An import statement asks for every export of a module, including exports that are loaded only when
 * somebody asks for them. For example, `node:http` then loads the program of `fetch` and `WebSocket`: 4 MB that no node uses. If the bundle uses the module
 * as an object, the module loads only the used exports.
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
