/** Objects as clients see them: with the resourceVersion, and without the generation of kinds that have none in Kubernetes. */
import { cutMetadataNumber, spliceMetadata } from '../../object/canonical.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Kind, Space } from '../space.ts';
import type { StoredObject } from '../storage.ts';

type Shown = Pick<Kind, 'hidesGeneration'>;

/** The stored bytes with the resourceVersion inserted. A revision of 0: the object is not stored, and has no resourceVersion. */
export function publicBytes({ hidesGeneration }: Shown, { body, revision }: Omit<StoredObject, 'key'>): Buffer {
  const shown = hidesGeneration ? cutMetadataNumber(body, 'generation') : body;
  return revision === 0 ? Buffer.from(shown) : Buffer.concat(spliceMetadata(shown, `"resourceVersion":"${revision}"`));
}

/** The parsed object. */
export function publicParsed(space: Space, kind: Shown, stored: StoredObject): KubeObject {
  return publicObject(kind, space.parse(stored));
}

export function publicObject({ hidesGeneration }: Shown, object: KubeObject): KubeObject {
  if (!hidesGeneration) return object;
  const { generation: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
