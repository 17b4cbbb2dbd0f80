/**
 * The Node of the image. The npm package `node` gets the program with a script of its own, which the lock file does not cover. So the digest of the program is
 * in `runtime.json`, and an image is built only with this program.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Runtime {
  readonly version: string;
  /** By `process.arch`, in hexadecimal. */
  readonly sha256: Readonly<Record<string, string>>;
}

export const runtime = JSON.parse(readFileSync(join(import.meta.dirname, 'runtime.json'), 'utf8')) as Runtime;

/** The reason why the program is not the Node of the image. Undefined: it is. */
export function foreignRuntime(program: Uint8Array, arch: string, { version, sha256 }: Runtime): string | undefined {
  const expected = sha256[arch];
  if (expected === undefined)
    return `deploy/image/runtime.json has no digest for ${arch}: it has ${Object.keys(sha256).join(', ')}`;
  const digest = createHash('sha256').update(program).digest('hex');
  if (digest === expected) return undefined;
  return `the SHA-256 of Node is ${digest}, and deploy/image/runtime.json says ${expected} for ${version} on ${arch}: run npm ci again, or change both versions together`;
}
