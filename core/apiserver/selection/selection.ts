/** Parses the label and field selectors of lists and watches from a query. */
import { ownField } from '../../object/json-value.ts';
import type { KubeObject } from '../../object/meta.ts';
import { checkLabelKey, checkLabelValue } from '../../object/names.ts';
import { isInteger, type LabelRequirement, matchesRequirement } from '../../object/selector.ts';
import { BanyanError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';

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

/** Parses the syntax of https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors */
export function parseLabelSelector(text: string): LabelRequirement[] {
  return splitTerms(text).map((term) => {
    const requirement = parseRequirement(term);
    const wrong = requirement ? mistakeIn(requirement) : 'must be like key, !key, key=value, key in (a,b) or key>1';
    if (!requirement || wrong) {
      const of = `${JSON.stringify(term)} of the label selector ${JSON.stringify(text)}`;
      throw new BanyanError('BadRequest', `unable to parse requirement: ${of}: ${wrong}`);
    }
    return requirement;
  });
}

function parseRequirement(term: string): LabelRequirement | undefined {
  const inSet = /^([^\s!=<>]+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(term);
  if (inSet) {
    const values = inSet[3]!.split(',').map((value) => value.trim());
    return { key: inSet[1]!, operator: inSet[2] === 'in' ? 'In' : 'NotIn', values };
  }
  const compare = /^([^\s!=<>]+)\s*(==|=|!=|>|<)\s*(\S*)$/.exec(term);
  if (compare) return { key: compare[1]!, operator: ownField(operators, compare[2]!)!, values: [compare[3]!] };
  const exists = /^(!?)\s*([^\s!=<>()]+)$/.exec(term);
  return exists ? { key: exists[2]!, operator: exists[1] ? 'DoesNotExist' : 'Exists' } : undefined;
}

/** The mistake in a requirement: a key or value that no label can have. Such a requirement selects nothing, and is probably a typing mistake. */
function mistakeIn({ key, operator, values = [] }: LabelRequirement): string | undefined {
  const wrongKey = checkLabelKey(key);
  if (wrongKey) return `${JSON.stringify(key)}: ${wrongKey}`;
  for (const value of values) {
    const wrong =
      (operator === 'Gt' || operator === 'Lt') && !isInteger(value) ? 'must be an integer' : checkLabelValue(value);
    if (wrong) return `${JSON.stringify(value)}: ${wrong}`;
  }
  return undefined;
}

const operators: Readonly<Record<string, LabelRequirement['operator']>> = {
  '=': 'In',
  '==': 'In',
  '!=': 'NotIn',
  '>': 'Gt',
  '<': 'Lt',
};

/** Splits at commas, except commas in parentheses. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0, isInside = false; at <= text.length; at++) {
    const sign = text[at];
    if (sign === '(') isInside = text.includes(')', at);
    else if (sign === ')') isInside = false;
    if (sign !== undefined && (sign !== ',' || isInside)) continue;
    terms.push(text.slice(start, at).trim());
    start = at + 1;
  }
  return terms.filter((term) => term !== '');
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
      if (!match) throw new BanyanError('BadRequest', `invalid selector: ${JSON.stringify(term)}; can't understand it`);
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
