/** An identity as files of one folder, which nobody else can read. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Identity, type IdentityStore, identityParts, nameOfPart } from './identity-store.ts';

export function fileStore(directory: string): IdentityStore {
  const fileOf = (part: keyof Identity) => join(directory, nameOfPart[part]);
  const kept = () => {
    const there = identityParts.filter((part) => existsSync(fileOf(part)));
    return Object.fromEntries(there.map((part) => [part, readFileSync(fileOf(part), 'utf8')]));
  };
  return {
    shown: directory,
    async read() {
      const identity = kept() as Partial<Identity>;
      return identity.keyPem === undefined ? undefined : identity;
    },
    async settleKey(keyPem) {
      const { keyPem: present } = kept() as Partial<Identity>;
      if (present !== undefined) return present;
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeWhole(directory, nameOfPart.keyPem, keyPem);
      return keyPem;
    },
    async keep(identity) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      for (const part of identityParts) writeWhole(directory, nameOfPart[part], identity[part]);
    },
  };
}

/** Readers see the old file or the new one; the folder too is on the disk. */
function writeWhole(directory: string, name: string, content: string): void {
  const file = join(directory, name);
  const fd = openSync(`${file}.new`, 'w', 0o600);
  try {
    writeSync(fd, content);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${file}.new`, file);
  const folder = openSync(directory, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
