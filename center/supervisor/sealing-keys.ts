/** The keys with which the nodes of a local tree seal their stores. */
import { existsSync } from 'node:fs';
import { type EncryptionConfig, encryptionConfigSchema } from '../../core/encryption/encryption-config.ts';
import { readKeys } from '../../core/encryption/read-keys.ts';
import { formatKeys, newSealingKey } from '../../core/encryption/sealing-keys.ts';
import type { Random } from '../../core/runtime/random.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import type { PlannedNode } from '../topology/plan.ts';
import type { DataDirectory } from './data-directory.ts';

/** The part `encryption` of a node's configuration. */
export function encryptionOf({ id, encryption = {} }: KeyedNode, data: DataDirectory): EncryptionConfig {
  const own = encryption.keyFile === undefined && encryption.keyCommand === undefined;
  return encryptionConfigSchema.parse({ ...encryption, ...(own ? { keyFile: data.keys(id) } : {}) });
}

/** Makes the missing keys of nodes that have keys of their own. Throws BadRequest for a key file that can't be read. Runs no program. */
export function ensureKeys(nodes: readonly KeyedNode[], data: DataDirectory, random: Random): void {
  for (const node of nodes) {
    const { keyFile } = encryptionOf(node, data);
    if (keyFile === undefined) continue;
    if (keyFile === data.keys(node.id) && !existsSync(keyFile))
      writeWhole(keyFile, formatKeys([newSealingKey(random)]));
    else readKeys({ keyFile });
  }
}

type KeyedNode = Pick<PlannedNode, 'id'> & {
  readonly encryption?: Partial<NonNullable<PlannedNode['encryption']>> | undefined;
};
