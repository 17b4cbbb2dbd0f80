import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { commandLinesIn, flawOfCommand, printedCommandsIn } from './shown-commands.ts';

/** docs/contributing.md adds a command as an example. */
const pages = ['README.md', ...globSync('docs/**/*.md', { exclude: ['docs/decisions/**', 'docs/contributing.md'] })];
const sources = globSync('{core,relay,center,edge-agent}/**/*.ts');

/** The pages with commands for a shell, and the test that reads the page and runs them. */
const runBy: Readonly<Record<string, string>> = {
  'README.md': 'test/long/fresh-clone.test.ts',
  'docs/fleet.md': 'test/e2e/pages.test.ts',
  'docs/preview-and-undo.md': 'test/long/preview-and-undo.test.ts',
  'docs/delivery.md': 'test/e2e/deleted-in-space.test.ts',
  'docs/operations/access.md': 'test/long/access-page.test.ts',
  'docs/operations/audit.md': 'test/e2e/audit.test.ts',
  'docs/operations/children.md': 'test/e2e/pages.test.ts',
  'docs/operations/kubeconfigs.md': 'test/e2e/pages.test.ts',
  'docs/operations/tenants.md': 'test/e2e/tenants.test.ts',
  'docs/operations/encryption.md': 'test/long/encryption.test.ts',
  'docs/operations/change-the-tree.md': 'test/long/change-the-tree-page.test.ts',
  'docs/operations/virtual-machines.md': 'test/long/virtual-machines.test.ts',
};

/** Pages whose commands no test runs from the page, with the reason and the test that does the same. The list may only shrink. */
const notRun: Readonly<Record<string, string>> = {
  'docs/install-agent.md':
    'needs a registry and a cluster of its own: deploy-join.test.ts and deploy-chart.test.ts do the steps',
  'docs/operations/kubernetes.md':
    'needs a registry and machines with Kubernetes: deploy-tree.test.ts does the steps on a kubelet',
  'docs/charts.md': 'needs a chart of the reader: kubernetes-charts.test.ts installs charts of its own',
  'docs/operations/identities.md': 'needs a second machine: relay-identities.test.ts does the steps',
  'docs/reference/aggregated-status.md': 'needs a chart of the reader: aggregated-status.test.ts asks kubectl and helm',
};

describe('a command of banyan', () => {
  it.each(pages)('is in the table of commands wherever the page %s shows it', (page) => {
    const lines = commandLinesIn(readFileSync(page, 'utf8'));
    const flaws = lines.flatMap((words) => {
      // Inline code may name a command without its arguments.
      const flaw = flawOfCommand(words, false);
      return flaw === undefined ? [] : [`${words.join(' ')}: ${flaw}`];
    });
    expect(flaws).toEqual([]);
  });

  it('is in the table of commands wherever a program prints it', () => {
    const printed = sources.flatMap((file) =>
      printedCommandsIn(readFileSync(file, 'utf8')).map((words) => ({ file, words })),
    );
    expect(printed.length).toBeGreaterThan(25);
    const flaws = printed.flatMap(({ file, words }) => {
      const flaw = flawOfCommand(words, false);
      return flaw === undefined ? [] : [`${file}: ${words.join(' ')}: ${flaw}`];
    });
    expect(flaws).toEqual([]);
  });
});

describe('a page with commands for a shell', () => {
  const withCommands = pages.filter(
    (page) => /^```sh$/m.test(readFileSync(page, 'utf8')) && !/examples|contributing|testing/.test(page),
  );

  it('has a test that runs them, or a reason', () => {
    expect(withCommands.sort()).toEqual([...Object.keys(runBy), ...Object.keys(notRun)].sort());
  });

  it.each(Object.entries(runBy))('%s is read by %s', (page, test) => {
    expect(readFileSync(test, 'utf8')).toContain(page);
  });
});

describe('the check of commands', () => {
  it('finds commands in code, and cuts off what belongs to the shell', () => {
    const page = [
      'Words about banyan tree.',
      'Write `npm exec -- banyan tree -w`, or `kubectl banyan status`.',
      '```sh',
      'npm exec -- banyan user add alice --group "the tills" > alice.kubeconfig   # a comment',
      'TOKEN=$(banyan join-token eu:a --ttl 1h)',
      '```',
    ].join('\n');
    expect(commandLinesIn(page)).toEqual([
      ['tree', '-w'],
      ['status'],
      ['user', 'add', 'alice', '--group', 'the tills'],
      ['join-token', 'eu:a', '--ttl', '1h'],
    ]);
  });

  it.each([
    [['tree', '-w', 'eu'], undefined],
    [['plan', '-f', '-'], undefined],
    [['user', 'add', 'x', '--ttl=1h'], undefined],
    [['tree', '--wtch'], '"tree" has no option --wtch'],
    [['trees'], 'there is no command "trees"'],
    [['ping'], 'the argument path is missing'],
    [['ping', 'a', 'b'], '"ping" takes 1 arguments'],
    [['ping', 'a', '--timeout'], 'the value of --timeout is missing'],
  ])('says of %j: %s', (words, flaw) => {
    expect(flawOfCommand(words, true)).toBe(flaw);
  });

  it('finds the texts of printed commands', () => {
    expect(printedCommandsIn("cliCommand('tree', '--data', root) + cliCommand('why', `x`, '--at', path)")).toEqual([
      ['tree', '--data'],
      ['why', '--at'],
    ]);
  });
});
