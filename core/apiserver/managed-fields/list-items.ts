/**
 * Lists of the configuration of a server-side apply whose items nobody can tell apart: an item has no key, or two items have the same one. A Kubernetes API
 * server refuses such a configuration, with these words, also if the list as a whole has one owner.
 */
import { jsonText } from '../../object/json.ts';
import type { KubeObject } from '../../object/meta.ts';
import { isRecord } from '../../runtime/is-record.ts';
import type { FieldType, ListType } from '../schema.ts';
import { elementText, fieldElement } from './field-set.ts';
import { itemElement, typeOfField } from './typed-value.ts';

/** The mistakes of the lists, each with its path. */
export function listMistakes(config: KubeObject, type: FieldType): string[] {
  const mistakes: string[] = [];
  collect(config, type, '', mistakes);
  return mistakes;
}

function collect(value: unknown, type: FieldType, path: string, mistakes: string[]): void {
  if (isRecord(value)) {
    for (const name in value) {
      collect(value[name], typeOfField(type, name), path + elementText(fieldElement(name)), mistakes);
    }
  } else if (Array.isArray(value) && type.type === 'list') {
    collectItems(value, type, path, mistakes);
  }
}

function collectItems(list: readonly unknown[], type: ListType, path: string, mistakes: string[]): void {
  const seen = new Set<string>();
  for (const [i, item] of list.entries()) {
    if (type.listType === 'atomic') {
      collect(item, type.items, `${path}[${i}]`, mistakes);
      continue;
    }
    const why = withoutKey(item, type);
    if (why !== undefined) {
      // As in Kubernetes, the items behind it are not looked at.
      mistakes.push(`${path}: element ${i}: ${why}`);
      return;
    }
    const element = itemElement(item, type);
    const text = elementText(element);
    if (seen.has(element)) mistakes.push(`${path}: duplicate entries for key ${text}`);
    seen.add(element);
    collect(item, type.items, path + text, mistakes);
  }
}

/** Why the item has no key. Undefined: it has one. */
function withoutKey(item: unknown, { listType, mapKeys = [], mapKeyDefaults }: ListType): string | undefined {
  if (listType === 'set') {
    if (item === null) return "associative list without keys has an element that's an explicit null";
    if (Array.isArray(item)) return 'not supported: associative list with lists as elements';
    return isRecord(item) ? "associative list without keys has an element that's a map type" : undefined;
  }
  if (item === null) return 'associative list with keys may not have a null element';
  if (!isRecord(item)) return 'associative list with keys may not have non-map elements';
  if (mapKeys.some((key) => item[key] !== undefined || mapKeyDefaults?.[key] !== undefined)) return undefined;
  const keys = mapKeys.map((key) => jsonText(key)).join(' ');
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}
