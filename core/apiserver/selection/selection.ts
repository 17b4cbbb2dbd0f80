/** Parses the label and field selectors of lists and watches from a query. */
import { ownField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { matchesRequirement } from '../../object/selector.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { parseLabelSelector } from './label-selector.ts';

export interface RequestSelection {
  /** True if there is no selector. Then every object matches, and no object must be parsed. */
  readonly isEmpty: boolean;
  /** True if the selector reads fields outside of metadata. */
  readonly readsContent: boolean;
  /** Metadata is enough unless `readsContent`. */
  matches(object: Pick<KubeObject, 'metadata'>): boolean;
}

type FieldReader = (object: Pick<KubeObject, 'metadata'>, path: string) => string;

export const everything: RequestSelection = { isEmpty: true, readsContent: false, matches: () => true };

/**
 * `selectable` are the JSON paths that the kind allows in addition to metadata.name and metadata.namespace. `read` returns the text of such a field, for example
 * `spec.nodeName`.
 */
export function selectionOf(
  labelSelector: string | null,
  fieldSelector: string | null,
  selectable: readonly string[],
  read: FieldReader = selectedText,
): RequestSelection {
  const labels = labelSelector ? parseLabelSelector(labelSelector) : [];
  const fields = fieldSelector ? parseFieldSelector(fieldSelector, selectable) : [];
  if (labels.length === 0 && fields.length === 0) return everything;
  return {
    isEmpty: false,
    readsContent: fields.some(({ path }) => !path.startsWith('metadata.')),
    matches: (object) =>
      labels.every((requirement) => matchesRequirement(requirement, object.metadata.labels ?? {})) &&
      fields.every(({ path, equals, value }) => (read(object, path) === value) === equals),
  };
}

interface FieldTerm {
  readonly path: string;
  readonly equals: boolean;
  readonly value: string;
}

function parseFieldSelector(text: string, selectable: readonly string[]): FieldTerm[] {
  return text
    .split(/(?<!\\),/)
    .filter((term) => term !== '')
    .map((term) => {
      const match = /^([^!=]+)(==|=|!=)(.*)$/.exec(term);
      if (!match) throw new BanyanError('BadRequest', `invalid selector: '${text}'; can't understand '${term}'`);
      const path = match[1]!.trim();
      if (path !== 'metadata.name' && path !== 'metadata.namespace' && !selectable.includes(`.${path}`)) {
        // The message of Kubernetes for a kind without fields of its own.
        if (selectable.length === 0) {
          const message = `${JSON.stringify(path)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
          throw new BanyanError('BadRequest', message);
        }
        const supported = ['metadata.name', 'metadata.namespace', ...selectable.map((one) => one.slice(1))].join(', ');
        throw new BanyanError('BadRequest', `field label not supported: ${path}; supported: ${supported}`);
      }
      return { path, equals: match[2] !== '!=', value: match[3]!.replaceAll(/\\([\\,=])/g, '$1') };
    });
}

/** The text of the field at the path, for example `spec.nodeName`. `absent` is the text if there is no such field. */
export function selectedText(object: Pick<KubeObject, 'metadata'>, path: string, absent = ''): string {
  const value = path.split('.').reduce<unknown>((at, name) => (isRecord(at) ? ownField(at, name) : undefined), object);
  return value === undefined || value === null ? absent : String(value);
}
