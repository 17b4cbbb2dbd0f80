/**
 * Builds the contents of `npm pack`: bundled JavaScript, one file for each program and shared files beside it in `dist/`, because Node does not strip types
 * below `node_modules`. lmdb is not bundled: it is native and finds its binary by its own path. The library with which grpc-js reads `.proto` files for its
 * own services, which we do not serve, is left out too: it would never run, and its text would stay in the memory of each process.
 */
import { cpSync, rmSync } from 'node:fs';
import { build } from 'esbuild';
import { lazyBuiltins } from './lazy-builtins.ts';

/** Another folder for an image. */
const out = process.argv[2] ?? 'dist';

rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: {
    banyan: 'center/cli/banyan.ts',
    center: 'center/main.ts',
    relay: 'relay/main.ts',
    agent: 'edge-agent/main.ts',
    'yaml-worker': 'core/apiserver/http/yaml-worker.ts',
  },
  outdir: out,
  bundle: true,
  // Code that a program loads only on demand stays separate: an agent of a real cluster runs without the embedded one, and without the Kubernetes client.
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  external: ['lmdb', '@grpc/proto-loader'],
  plugins: [lazyBuiltins],
  // Source texts stay in the memory of each process. Names do not change, for stack traces, and lines are short, because Node prints the line that threw.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  sourcemap: process.argv[2] === undefined ? 'linked' : false,
  sourcesContent: false,
  legalComments: 'linked',
  logLevel: 'warning',
  // Bundled CommonJS requests built-in modules with `require`, which an ES module does not have.
  banner: {
    js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
  },
});
cpSync('core/apiserver/builtin/generated/types.json', `${out}/generated/types.json`);
