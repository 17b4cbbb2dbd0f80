#!/usr/bin/env node
// Starts the command in both of its forms: a checkout runs its TypeScript sources, and the published package has a bundle. This file itself runs on any Node
// with modules. So an old Node prints one clear sentence: docs/decisions/0008-old-node-runs-the-package.md.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import nodeModule from 'node:module';
import { constants } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = new URL('./banyan.ts', import.meta.url);
const isCheckout = existsSync(source);
/**
 * The oldest version of Node that works. A checkout needs a Node that strips types and supports `await using`. The package needs the Node for which the
 * bundles are made.
 */
const neededMajor = isCheckout ? 24 : 20;
/** The Node of the npm package `node`, which is a development dependency. */
const newerNode = fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url));

// A checkout is hundreds of source files. Their compiled forms, kept from an earlier start, save most of the time of a start: 0.3 s instead of 0.9 s. The nodes
// that `banyan up` starts read the variable too.
if (isCheckout) {
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/banyan', import.meta.url));
  nodeModule.enableCompileCache?.(process.env.NODE_COMPILE_CACHE);
}

// kubectl completes the words of its plugin `kubectl banyan` by a program of this name:
// https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
if (basename(process.argv[1] ?? '') === 'kubectl_complete-banyan') process.argv.splice(2, 0, 'complete', '--');

if (Number(process.versions.node.split('.')[0]) >= neededMajor) {
  await import(isCheckout ? source.href : new URL('../../dist/banyan.js', import.meta.url).href);
} else if (isCheckout && existsSync(newerNode)) {
  runBy(newerNode);
} else {
  const remedy = isCheckout ? 'run npm ci, which brings a Node that is new enough along' : 'install a newer Node';
  console.error(`banyan: this is Node ${process.versions.node}, and Node ${neededMajor} or later is needed: ${remedy}`);
  process.exit(2);
}

/** @param {string} node */
function runBy(node) {
  const child = spawn(node, [fileURLToPath(source), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(name, (/** @type {NodeJS.Signals} */ signal) => child.kill(signal));
  }
  child.once('exit', (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  child.once('error', (error) => {
    console.error(`banyan: ${node} can't be run: ${error.message}; run npm ci, which installs it again`);
    process.exit(2);
  });
}
