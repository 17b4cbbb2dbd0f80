/**
 * Builds the contents of `npm pack`: bundled JavaScript in `dist/`, with one file for each program and some shared files, because Node does not strip types
 * below `node_modules`. lmdb is not bundled: it is native, and finds its binary by its own path. grpc-js has a library that reads `.proto` files for
 * grpc-js's own services. Banyan does not serve these, so the bundles leave the library out: its code would never run, and its text would stay in the memory
 * of each process.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { lazyBuiltins } from './lazy-builtins.ts';
import { licenceTexts } from './licences.ts';
import type { LockFile } from './lock-file.ts';

/** The output folder. An image is built with another one. */
const out = process.argv[2] ?? 'dist';

rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: {
    banyan: 'center/cli/banyan.ts',
    center: 'center/main.ts',
    relay: 'relay/main.ts',
    agent: 'edge-agent/main.ts',
    'body-worker': 'core/apiserver/http/body-worker.ts',
  },
  outdir: out,
  bundle: true,
  // Code that a program loads only on demand stays separate. So an agent of a real cluster runs without the embedded cluster, and without the Kubernetes
  // client until it needs the client.
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  external: ['lmdb', '@grpc/proto-loader'],
  plugins: [lazyBuiltins],
  // Source texts stay in the memory of each process, so they are short. Names do not change, because stack traces show them. Lines are short, because Node
  // prints the whole line that threw.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 160,
  sourcemap: process.argv[2] === undefined ? 'linked' : false,
  sourcesContent: false,
  legalComments: 'linked',
  logLevel: 'warning',
  // Bundled CommonJS loads built-in modules with `require`, which an ES module does not have.
  banner: {
    js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
  },
});
cpSync('core/apiserver/builtin/generated/types.json', `${out}/generated/types.json`);
cpSync('core/apiserver/openapi/generated/schemas.json.br', `${out}/generated/schemas.json.br`);
writeFileSync(
  `${out}/licences.txt`,
  licenceTexts(JSON.parse(readFileSync('package-lock.json', 'utf8')) as LockFile, 'node_modules'),
);
