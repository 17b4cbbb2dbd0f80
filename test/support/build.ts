/**
 * What `npm pack` ships: bundled JavaScript, a file per program and what they share beside it in `dist/`, since Node does not strip types below
 * `node_modules`. lmdb stays outside: it is native and finds its binary by its own path. So does what grpc-js reads `.proto` files with for services of its own
 * that we don't serve: it would never run, and its text would stay in the memory of each process.
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
  // What a program loads only at need stays apart: an agent of a real cluster without the embedded one, and without the Kubernetes client.
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  external: ['lmdb', '@grpc/proto-loader'],
  plugins: [lazyBuiltins],
  // Source texts stay in the memory of each process. Names stay as they are, for stack traces, and lines are short, since Node prints the one that threw.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  sourcemap: process.argv[2] === undefined ? 'linked' : false,
  sourcesContent: false,
  legalComments: 'linked',
  logLevel: 'warning',
  // Bundled CommonJS asks for built-in modules with `require`, which an ES module does not have.
  banner: {
    js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
  },
});
cpSync('core/apiserver/builtin/generated/types.json', `${out}/generated/types.json`);
