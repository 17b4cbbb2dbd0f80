/** A small file system for a directory. A test can fill it and free it. Needs root. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

function mount(directory: string, megabytes: number): string | undefined {
  const { status, stderr, error } = spawnSync(
    'mount',
    ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory],
    { encoding: 'utf8' },
  );
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}

function reasonAgainst(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-mount-'));
  const reason = mount(directory, 1);
  if (reason === undefined) spawnSync('umount', [directory]);
  rmSync(directory, { recursive: true });
  return reason === undefined ? undefined : `needs the right to mount a tmpfs (${reason})`;
}

/** A text for the titles of tests that can't run, with the reason. */
export const withoutSmallDisk = reasonAgainst();

export class SmallDisk implements Disposable {
  readonly #directory: string;

  constructor(directory: string, megabytes: number) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
    const reason = mount(directory, megabytes);
    if (reason !== undefined) throw new Error(`tmpfs at ${directory}: ${reason}`);
  }

  /** Fills the disk with a file, except for this number of bytes. */
  fill(leftBytes: number): void {
    const { bavail, bsize } = statfsSync(this.#directory);
    writeFileSync(this.#ballast, Buffer.alloc(Math.max(0, bavail * bsize - leftBytes)));
  }

  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  [Symbol.dispose](): void {
    spawnSync('umount', ['--lazy', this.#directory]);
  }

  get #ballast(): string {
    return join(this.#directory, 'ballast');
  }
}
