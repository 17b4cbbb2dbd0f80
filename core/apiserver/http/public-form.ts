/** Objects as clients see them: with the resourceVersion, without the note about filled in fields, and without the generation of kinds that have none in Kubernetes. */
import { afterFirstMetadataText, metadataNumberIn } from '../../object/canonical.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { Kind, Space } from '../space.ts';
import type { StoredObject } from '../storage.ts';
import { noteField } from '../verbs/filled-in.ts';
import { ByteText } from './byte-text.ts';

type Shown = Pick<Kind, 'hidesGeneration'>;
type Stored = Omit<StoredObject, 'key'>;

/** Bytes of the inserted resourceVersion, at most: a revision has up to 16 digits. */
const insertedBytesMax = 40;
const closingBrace = 0x7d;

/** Adds the stored bytes with the resourceVersion inserted. A revision of 0: the object is not stored, and has no resourceVersion. */
export function addPublic(text: ByteText, { hidesGeneration }: Shown, { body, revision }: Stored): void {
  const begin = afterFirstMetadataText(body, noteField);
  const cut = hidesGeneration ? metadataNumberIn(body, 'generation', begin) : undefined;
  const { start, end } = cut ?? { start: begin, end: begin };
  const first = start === begin ? end : begin;
  text.ascii('{"metadata":{');
  if (revision !== 0) text.ascii(`"resourceVersion":"${revision}"${body[first] === closingBrace ? '' : ','}`);
  if (start > begin) text.add(body, begin, start);
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
  const { [noteField]: _note, ...metadata } = object.metadata as KubeObject['metadata'] & { [noteField]?: string };
  if (hidesGeneration) delete metadata.generation;
  return { ...object, metadata };
}
