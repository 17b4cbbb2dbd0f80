/**
 * Forms of entry keys. A form is a word, then parts after slashes, for example `q/{id}/{object}`. From the form come the type of the key's fields, the
 * function that makes a key from fields, and the function that parses a key into fields.
 */
import { formatKey, type ObjectKey, parseKey } from '../object/key.ts';
import type { PlacementId } from './placement-id.ts';

/** The value of each part. In a key, `{id}` is two words (source and name), `{object}` is four (object/key.ts), and each other part is one. */
export interface KeyParts {
  readonly id: PlacementId;
  readonly object: ObjectKey;
  readonly source: string;
  readonly path: string;
  readonly child: string;
  readonly syncTarget: string;
  readonly summarizer: string;
}

type PartsOf<Form extends string> = Form extends `${string}{${infer Part extends keyof KeyParts}}${infer Rest}`
  ? [Part, ...PartsOf<Rest>]
  : [];
type ValuesOf<Parts> = { readonly [Index in keyof Parts]: KeyParts[Parts[Index] & keyof KeyParts] };

/** The fields of a parsed key. A key with `{id}` also has the field `source`: the source of the placement. */
export type FieldsOf<Form extends string> = { readonly [Part in Named<PartsOf<Form>[number]>]: KeyParts[Part] };
type Named<Part> = Part extends 'id' ? 'id' | 'source' : Part extends keyof KeyParts ? Part : never;
export type ArgumentsOf<Form extends string> = ValuesOf<PartsOf<Form>>;

export interface KeyForm {
  /** The beginning of the key, up to its first slash. */
  readonly word: string;
  readonly parts: readonly (keyof KeyParts)[];
  format(...values: readonly (string | ObjectKey)[]): string;
  /** `rest`: the part of the key after the word and its slash; undefined if there is no slash. Returns undefined if the key is not of this form. */
  parse(rest: string | undefined): Partial<KeyParts> | undefined;
}

export function keyForm(form: string): KeyForm {
  const [word = '', ...names] = form.split('/');
  const parts = names.map((name) => name.slice(1, -1) as keyof KeyParts);
  return {
    word,
    parts,
    format: (...values) => {
      let key = word;
      for (const value of values) key += `/${typeof value === 'string' ? value : formatKey(value)}`;
      return key;
    },
    parse: (rest) => (parts.length === 0 ? (rest === undefined ? {} : undefined) : parsed(parts, rest ?? '')),
  };
}

/** Undefined if `rest` does not have exactly as many words as the parts need. */
function parsed(parts: readonly (keyof KeyParts)[], rest: string): Partial<KeyParts> | undefined {
  const fields: { -readonly [Part in keyof KeyParts]?: KeyParts[Part] } = {};
  let from = 0;
  for (const [index, part] of parts.entries()) {
    const end = endOf(rest, from, wordsOf[part] ?? 1, index === parts.length - 1);
    if (end === undefined) return undefined;
    const text = rest.slice(from, end);
    if (part === 'object') fields.object = parseKey(text);
    else if (part === 'id') {
      const slash = text.indexOf('/');
      if (slash <= 0 || slash === text.length - 1) return undefined;
      fields.id = text;
      fields.source = text.slice(0, slash);
    } else fields[part] = text;
    from = end + 1;
  }
  return fields;
}

/** Number of words of each part that has more than one word. */
const wordsOf: { readonly [Part in keyof KeyParts]?: number } = { id: 2, object: 4 };

/** The position after `words` words that begin at `from`. Undefined: the text has fewer words, or it has more words although `isLast` is true. */
function endOf(text: string, from: number, words: number, isLast: boolean): number | undefined {
  let at = from;
  for (let word = 1; word < words; word++) {
    const slash = text.indexOf('/', at);
    if (slash < 0) return undefined;
    at = slash + 1;
  }
  const slash = text.indexOf('/', at);
  if (isLast) return slash < 0 ? text.length : undefined;
  return slash < 0 ? undefined : slash;
}
