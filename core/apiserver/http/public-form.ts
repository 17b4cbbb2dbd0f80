/** Objects as clients see them: with the resourceVersion, and without the generation of kinds that have none in Kubernetes. */
import { metadataNumberIn, metadataStart } from '../../object/canonical.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Kind, Space } from '../space.ts';
import type { StoredObject } from '../storage.ts';
import { ByteText } from './byte-text.ts';

type Shown = Pick<Kind, 'hidesGeneration'>;
type Stored = Omit<StoredObject, 'key'>;

/** Bytes of the inserted resourceVersion, at most: a revision has up to 16 digits. */
const insertedBytesMax = 40;
const closingBrace = 0x7d;

/** Adds the stored bytes with the resourceVersion inserted. A revision of 0: the object is not stored, and has no resourceVersion. */
export function addPublic(text: ByteText, { hidesGeneration }: Shown, { body, revision }: Stored): void {
  const cut = hidesGeneration ? metadataNumberIn(body, 'generation') : undefined;
  const { start, end } = cut ?? { start: metadataStart, end: metadataStart };
  const first = start === metadataStart ? end : metadataStart;
  text.ascii('{"metadata":{');
  if (revision !== 0) text.ascii(`"resourceVersion":"${revision}"${body[first] === closingBrace ? '' : ','}`);
  if (start > metadataStart) text.add(body, metadataStart, start);
  text.add(body, end);
}

/** The bytes of `addPublic` alone. */
export function publicBytes(kind: Shown, stored: Stored): Buffer {
  const text = new ByteText(stored.body.length + insertedBytesMax);
  addPublic(text, kind, stored);
  return text.take();
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
