/** An identity as files in one folder. Only the owner can read them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '../../runtime/whole-file.ts';
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
      writeWhole(fileOf('keyPem'), keyPem);
      return keyPem;
    },
    async keep(identity) {
      for (const part of identityParts) {
        const pem = identity[part];
        if (pem !== undefined) writeWhole(fileOf(part), pem);
      }
    },
  };
}
