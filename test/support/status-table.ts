/** The table of docs/reference/aggregated-status.md, made from the rules of the kinds. */
import {
  type FieldRule,
  otherKinds,
  type StatusRules,
  statusRules,
  unionMax,
} from '../../core/summary/status-rules.ts';

const [begin, end] = ['<!-- generated: rules -->\n', '<!-- /generated -->'];

/** Returns the page with its table made again. */
export function withStatusTable(page: string): string {
  const from = page.indexOf(begin) + begin.length;
  return `${page.slice(0, from)}\n${table()}\n${page.slice(page.indexOf(end, from))}`;
}

function table(): string {
  const kinds = [...Object.entries(statusRules), ['other kinds', otherKinds] as const];
  const rows = kinds.map(([kind, rules]) => [
    `\`${kind}\``.replace('`other kinds`', 'other kinds'),
    fieldsOf(rules),
    conditionsOf(rules),
  ]);
  const lines = [['kind', 'fields', 'conditions'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((cells) => cells[column]!.length)));
  const written = lines.map((cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`);
  return `${[written[0], `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...written.slice(1)].join('\n')}\n`;
}

function fieldsOf({ fields, observes }: StatusRules): string {
  const byRule = new Map<string, string[]>();
  for (const [path, rule] of Object.entries(fields)) {
    const said = textOf(rule);
    if (said !== undefined) byRule.set(said, [...(byRule.get(said) ?? []), `\`${path}\``]);
  }
  const parts = [...byRule].map(([said, paths]) => `${paths.join(', ')}: ${said}`);
  if (observes) parts.push('`observedGeneration`: see above');
  if (observes === undefined) parts.push('`observedGeneration`, if destinations report it: see above');
  return parts.join('; ');
}

function textOf(rule: FieldRule): string | undefined {
  switch (rule.rule) {
    case 'told':
      return undefined;
    case 'replicas':
      if (rule.bound === 'most') return 'the greatest';
      return rule.bound === 'short' ? 'the least; less than `spec.replicas` until available everywhere' : 'the least';
    case 'wanted':
    case 'sum':
      return 'the sum';
    case 'scheduled':
      return 'the sum; less than the wanted number until available everywhere';
    case 'least':
      return 'the least';
    case 'most':
      return 'the greatest';
    case 'phase':
      return `the first of ${rule.worstFirst.join(', ')}`;
    case 'first':
      return 'the earliest, once every destination has one';
    case 'last':
      return 'the latest, once every destination has one';
    case 'quantity':
      return 'the least, once every destination has one';
    case 'union':
      return `all different ones, sorted, at most ${unionMax}, once every destination has one or is available without one`;
    case 'same':
      return 'the value, while all are the same';
  }
}

function conditionsOf({ conditions, ready }: StatusRules): string {
  if (conditions === 'made') {
    const own =
      ready === undefined ? '`ReplicaFailure` when failed' : `\`${ready}\`, \`Progressing\`, \`ReplicaFailure\``;
    return `${own}; made from the counts`;
  }
  if (conditions === 'ended')
    return '`Complete` when complete everywhere, `Failed` when failed at one; others only if True';
  return ready === undefined ? 'merged by type' : `merged by type; \`${ready}\` False until available everywhere`;
}
