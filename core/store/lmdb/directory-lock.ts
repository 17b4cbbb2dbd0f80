/**
 * Allows only one process per directory. The lock is a file that names its owner. If the owner does not run any more, another process takes over the lock.
 * So a node starts after any crash without help.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BanyanError } from '../../runtime/errors.ts';
import type { Host, ProcessIdentity } from './host.ts';

interface LockOwner extends ProcessIdentity {
  readonly bootId: string;
}

const fileName = 'owner.json';

export class DirectoryLock {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  static take(directory: string, host: Host): DirectoryLock {
    const file = join(directory, fileName);
    const content = JSON.stringify({ ...host.self, bootId: host.bootId } satisfies LockOwner);
    if (create(file, content, host)) return new DirectoryLock(file);
    const found = readFileSync(file, 'utf8');
    const owner = livingOwner(found, host);
    if (owner) throw inUse(directory, owner);
    removeStale(directory, file, found, host);
    if (!create(file, content, host)) throw inUse(directory, undefined);
    return new DirectoryLock(file);
  }

  release(): void {
    rmSync(this.#file, { force: true });
  }
}

/** Creates the file with a link instead of create and write. So the file never exists without its whole content. */
function create(file: string, content: string, host: Host): boolean {
  const draft = `${file}.${host.self.pid}`;
  writeFileSync(draft, content, { mode: 0o600 });
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * The owner of the lock, if the owner may still be running. An owner in another pid namespace was in another container. This process can't look up a pid of
 * another container, and a restarted container must get its store back. So a lock from another pid namespace counts as stale. The volume itself must not be
 * usable by two containers at once.
 */
function livingOwner(text: string, host: Host): LockOwner | undefined {
  const owner = parse(text);
  if (!owner || owner.bootId !== host.bootId || owner.namespace !== host.self.namespace) return undefined;
  return host.find(owner.pid)?.started === owner.started ? owner : undefined;
}

/** Removes the stale lock: moves it away first and then reads it. If the moved file is a new lock of another process, puts the file back and throws. */
function removeStale(directory: string, file: string, stale: string, host: Host): void {
  const aside = `${file}.stale.${host.self.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return;
    throw error;
  }
  const moved = readFileSync(aside, 'utf8');
  if (moved !== stale) {
    renameSync(aside, file);
    throw inUse(directory, parse(moved));
  }
  rmSync(aside);
}

function parse(text: string): LockOwner | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isOwner(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isOwner(value: unknown): value is LockOwner {
  return typeof value === 'object' && value !== null && 'pid' in value && Number.isInteger(value.pid);
}

function inUse(directory: string, owner: LockOwner | undefined): BanyanError {
  const who = owner ? `process ${owner.pid}` : 'another process';
  return new BanyanError(
    'Unavailable',
    `the store in ${directory} is in use by ${who}; end it or choose another directory`,
  );
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
