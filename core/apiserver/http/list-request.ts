/** The question of a list, a get or a watch, and the stored objects that the question selects. */
import { labelsInBody } from '../../object/body-labels.ts';
import type { KubeObject } from '../../object/meta.ts';
import type { RequestSelection } from '../selection/selection.ts';
import type { Kind, Space } from '../space.ts';
import type { StoredObject } from '../storage.ts';
import type { TableOptions } from '../table/table.ts';
import { shownIn } from '../verbs/object-form.ts';
import type { Form } from './negotiate.ts';

export interface ListRequest {
  readonly space: Space;
  readonly kind: Kind;
  readonly version: string;
  readonly namespace: string;
  readonly selection: RequestSelection;
  readonly form: Form;
  readonly includeObject: TableOptions['includeObject'];
  readonly nowMs: number;
  /** The revision that a list shows. Absent: the newest one. */
  readonly revision?: number | undefined;
}

export type InVersion = Pick<ListRequest, 'space' | 'kind' | 'version'>;

/**
 * Whether the request selects the object. Labels, names and namespaces are the same in all versions. Throws if the selector needs other fields of an object
 * that can't be converted to the version of the request: a missing field would select or leave out the wrong objects.
 */
export function selectsObject({ kind, version, selection }: Omit<Selecting, 'space'>, object: KubeObject): boolean {
  return selection.matches(selection.readsContent ? shownIn(kind, object, version) : object);
}

type Selecting = InVersion & Pick<ListRequest, 'selection'>;

/** The same for a stored object. Most selectors read only labels, names and namespaces, and then the object is not parsed. */
export function selectsStored(listing: Selecting, stored: StoredObject): boolean {
  const { selection, space } = listing;
  if (selection.isEmpty) return true;
  if (selection.readsContent) return selectsObject(listing, space.parse(stored));
  const { name, namespace } = stored.key;
  return selection.matches({ metadata: { name, namespace, labels: labelsInBody(stored.body) } });
}

/** Whether the server has to parse the objects in order to show them in this form. */
export function mustParse({ form, kind }: Pick<ListRequest, 'form' | 'kind'>): boolean {
  return (
    form.as !== 'object' ||
    form.protobuf !== undefined ||
    kind.hasSeveralVersions ||
    kind.storedAs !== undefined ||
    kind.definedAt !== undefined
  );
}

/** The namespace of a list, as an option of a scan. */
export function placeIn({ namespace }: Pick<ListRequest, 'namespace'>): { readonly namespace?: string } {
  return namespace === '' ? {} : { namespace };
}

/** Whether the answer contains more of the objects than their metadata and columns. */
export function showsContent({ form, includeObject }: ListRequest): boolean {
  if (form.as === 'Table') return includeObject === 'Object';
  return form.as !== 'PartialObjectMetadata';
}

/**
 * A piece without bytes: the list has worked for a while and lets others work. The caller asks for the next piece after it has handled everything that has come
 * meanwhile.
 */
export const pause = Buffer.alloc(0);
/** Objects between two pauses. The thread looks at 1,000 small objects in 5 ms. */
const turnObjectsMax = 500;
/** Bytes of objects between two pauses: the thread parses them in 5 to 20 ms. */
const turnBytesMax = 512 * 1024;

/** Counts the work on stored objects since the last pause. */
export class Effort {
  readonly #objectsMax: number;
  #objects = 0;
  #bytes = 0;

  constructor(objectsMax = turnObjectsMax) {
    this.#objectsMax = objectsMax;
  }

  /** True: it is time for a pause. */
  spend(bytes: number): boolean {
    this.#objects++;
    this.#bytes += bytes;
    if (this.#objects < this.#objectsMax && this.#bytes < turnBytesMax) return false;
    this.#objects = 0;
    this.#bytes = 0;
    return true;
  }
}
