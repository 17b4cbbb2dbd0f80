/** An identity as files in one folder. Only the owner can read them. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '../../runtime/whole-file.ts';
import { type IdentityStore, nameOfPart, type StoredIdentity, settledKey, storedParts } from './identity-store.ts';

export function fileStore(directory: string): IdentityStore {
  const fileOf = (part: keyof StoredIdentity) => join(directory, nameOfPart[part]);
  const kept = (): StoredIdentity => {
    const there = storedParts.filter((part) => existsSync(fileOf(part)));
    return Object.fromEntries(there.map((part) => [part, readFileSync(fileOf(part), 'utf8')]));
  };
  return {
    shown: directory,
    async read() {
      const identity = kept();
      return identity.keyPem === undefined ? undefined : identity;
    },
    async settleKey(keyPem, formerKeyPem) {
      const found = settledKey(kept(), formerKeyPem);
      if ('settled' in found) return found.settled;
      writeWhole(fileOf(found.part), keyPem);
      return keyPem;
    },
    async keep(identity) {
      const parts: StoredIdentity = identity;
      for (const part of storedParts) {
        const pem = parts[part];
        if (pem !== undefined) writeWhole(fileOf(part), pem);
        else if (part === 'nextKeyPem') rmSync(fileOf(part), { force: true });
      }
    },
  };
}
