/** The image of all roles, for one architecture. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { platform, writeArchive } from './oci-archive.ts';
import { userId, writeProgram, writeRuntime } from './root-files.ts';

export interface ImageOptions {
  /** `banyan:0.1.0` */
  readonly name: string;
  readonly version: string;
  /** As `process.arch`. */
  readonly arch: string;
}

/** Writes the image as one file. Returns a line about it. */
export function writeImage(out: string, { name, version, arch }: ImageOptions): string {
  const { os, architecture } = platform(arch);
  const stage = mkdtempSync(join(tmpdir(), 'banyan-image-'));
  try {
    const [lower, upper] = [join(stage, 'runtime'), join(stage, 'program')];
    writeRuntime(lower, arch);
    writeProgram(upper, arch);
    const config = {
      User: `${userId}:${userId}`,
      // The arguments of a container are `agent`, `relay` or `center`, and --config FILE.
      Entrypoint: ['/usr/bin/node', '/app/dist/banyan.js'],
      Env: ['PATH=/usr/bin'],
      WorkingDir: '/data',
      Labels: { 'org.opencontainers.image.title': 'banyan', 'org.opencontainers.image.version': version },
    };
    const { packedBytes, bytes } = writeArchive(out, { name, layers: [lower, upper], config }, arch);
    const megabytes = (count: number) => `${(count / 1e6).toFixed(0)} MB`;
    return `${out}: ${name} for ${os}/${architecture}, ${megabytes(packedBytes)} packed, ${megabytes(bytes)} on a node`;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}
