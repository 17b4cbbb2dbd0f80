/** The page docs/reference/authorization.md, made from the rows that test/e2e/authorization.test.ts checks. */
import { authorizationRows, type CallerName, callers, expectedCell, strangers } from './authorization-rows.ts';

const nodes = [
  ['center', 'At the center'],
  ['eu', 'At the relay `eu`, whose `access.fromAbove` is `grants`'],
  ['eu:rivoli', 'At the agent `eu:rivoli` with an embedded cluster, whose `access.fromAbove` is `grants`'],
] as const;
const names = Object.keys(callers) as CallerName[];
const marks = { yes: '✓', no: '·', '401': '401' } as const;

export function authorizationPage(): string {
  const described = (of: Readonly<Record<string, string>>) =>
    Object.entries(of).map(([name, words]) => `- **${name}** ${words}`);
  return [
    '# Who may do what',
    '',
    'A test sends each of these requests as each of these callers to a running tree, and compares the answers with this page.',
    '',
    ...described(callers),
    '',
    'These callers get the answer 401 to every request but those for health:',
    '',
    ...described(strangers),
    '',
    '✓: the node serves the request, or answers that an object is missing. ·: the node refuses the request (403). `all`: strangers may, too.',
    ...nodes.flatMap(([at, title]) => ['', `## ${title}`, '', ...tableOf(at)]),
    '',
  ].join('\n');
}

function tableOf(at: string): string[] {
  const lines = authorizationRows
    .filter((row) => row.at === at)
    .map((row) => {
      const cells = names.map((name) => (row.allowed === 'everybody' ? 'all' : marks[expectedCell(row, name)]));
      return `| ${row.method} | \`${row.url}\` | ${cells.join(' | ')} |`;
    });
  return [`| method | URL | ${names.join(' | ')} |`, `| --- | --- |${' --- |'.repeat(names.length)}`, ...lines];
}
