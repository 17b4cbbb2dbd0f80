/** The tables of entry kinds in docs/architecture.md, made from the registry. */
import type * as z from 'zod';
import type { EntryKind } from '../../core/entries/entry-kind.ts';
import { entryKinds } from '../../core/entries/entry-kinds.ts';
import type { KeyParts } from '../../core/entries/key-form.ts';

/** The names that docs/architecture.md uses for the parts of keys. */
const parts: Readonly<Record<`{${keyof KeyParts}}`, string>> = {
  '{id}': 'S/NAME',
  '{source}': 'S',
  '{object}': 'OBJECTKEY',
  '{path}': 'PATH',
  '{child}': 'NAME',
  '{syncTarget}': 'NAME',
  '{summarizer}': 'SUMMARIZER',
};

/** Returns the page with its two tables made again. */
export function withEntryTables(page: string): string {
  return (['down', 'up'] as const).reduce((text, direction) => {
    const [begin, end] = [`<!-- generated: ${direction} -->\n`, '<!-- /generated -->'];
    const from = text.indexOf(begin) + begin.length;
    return `${text.slice(0, from)}\n${table(direction)}\n${text.slice(text.indexOf(end, from))}`;
  }, page);
}

function table(direction: 'down' | 'up'): string {
  const kinds: readonly EntryKind[] = Object.values(entryKinds);
  const rows = kinds
    .filter(({ from }) => (from === 'parent') === (direction === 'down'))
    .map((kind) => [`\`${keyOf(kind)}\``, whoOf(kind), attributesOf(kind), kind.is]);
  const lines = [['key', direction === 'down' ? 'to' : 'from', 'attributes (JSON)', 'is'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((cells) => cells[column]!.length)));
  const written = lines.map((cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`);
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return `${[written[0], rule, ...written.slice(1)].join('\n')}\n`;
}

function keyOf({ form }: EntryKind): string {
  return form.replace(/\{\w+\}/g, (part) => {
    if (part in parts) return parts[part as keyof typeof parts];
    throw new Error(`the form "${form}" has a part ${part} that core/entries/key-form.ts does not know`);
  });
}

function whoOf(kind: EntryKind): string {
  const role = kind.from === 'parent' ? kind.to : kind.by;
  return role === undefined ? 'relays, agents' : `${role}s`;
}

function attributesOf({ attributes }: EntryKind): string {
  if (!attributes) return '';
  const { shape } = attributes as z.ZodObject;
  const names = Object.entries(shape).map(([name, field]) => (field._zod.optin === 'optional' ? `${name}?` : name));
  return names.length === 0 ? '`{}`' : `\`{${names.join(', ')}}\``;
}
