/**
 * Lists with one key or value twice in the configuration of a server-side apply. An apply identifies items by their keys, so it can't decide which of the
 * two items is meant. A Kubernetes API server refuses such a configuration, with these words.
 */
import type { KubeObject } from '../../object/meta.ts';
import { parseApiVersion } from '../../object/meta.ts';
import { BanyanError } from '../../runtime/errors.ts';
import type { FieldType } from '../schema.ts';
import { elementText, fieldElement } from './field-set.ts';
import { itemElement, shapeOf, typeOfField } from './typed-value.ts';

/** Throws if a list of the configuration has an item twice. */
export function checkDuplicateItems(config: KubeObject, type: FieldType): void {
  const mistakes: string[] = [];
  collect(config, type, '', mistakes);
  if (mistakes.length === 0) return;
  const { apiVersion, kind, metadata } = config;
  const { group, version } = parseApiVersion(apiVersion);
  const name = `${metadata.namespace ?? ''}/${metadata.name ?? ''}; ${group}/${version}, Kind=${kind}`;
  const texts = mistakes.length === 1 ? mistakes[0] : `errors:\n${mistakes.map((text) => `  ${text}`).join('\n')}`;
  throw new BanyanError('NotTyped', `failed to create typed patch object (${name}): ${texts}`);
}

function collect(value: unknown, type: FieldType, path: string, mistakes: string[]): void {
  const shape = shapeOf(value, type);
  if (shape.shape === 'map') {
    for (const name in shape.value) {
      collect(shape.value[name], typeOfField(type, name), path + elementText(fieldElement(name)), mistakes);
    }
  } else if (shape.shape === 'list') {
    const seen = new Set<string>();
    for (const item of shape.value) {
      const element = itemElement(item, shape.type);
      const text = elementText(element);
      if (seen.has(element)) mistakes.push(`${path}: duplicate entries for key ${text}`);
      seen.add(element);
      collect(item, shape.type.items, path + text, mistakes);
    }
  }
}
