/** A list of a node with very many agents, on its own: it says that it is busy, and leaves the process to other work. */
import { expect, it } from 'vitest';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { Fleet } from '../../../../relay/fleet/fleet.ts';
import type { FleetLine, Item } from '../../../../relay/fleet/fleet-lines.ts';
import type { ListQuestion } from '../../../../relay/fleet/fleet-question.ts';
import { listLines } from '../../../../relay/fleet/list.ts';
import { pod, ReportedBench, source } from '../support/reported-bench.ts';

const question: ListQuestion = {
  type: 'list',
  source,
  kind: { group: '', resource: 'pods', version: 'v1', columns: [], selectable: [] },
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  form: { as: 'object', version: 'v1', includeObject: 'Metadata' },
  patienceMs: 1_000,
  limit: 0,
};

function fleetOf(agents: number, copies: number) {
  const bench = new ReportedBench('eu');
  for (let agent = 0; agent < agents; agent++) {
    bench.child(`a${agent}`, 'agent');
    for (let i = 0; i < copies; i++)
      bench.send(`a${agent}`, source, { ...pod, name: `web-${String(i).padStart(3, '0')}` });
  }
  const clock = new VirtualClock();
  const { store, mailboxes } = bench;
  const connection = () => ({ connected: true, silentMs: 0 });
  const fleet = new Fleet(source, {
    store,
    clock,
    path: 'eu',
    mailboxes,
    children: new Map(),
    counts: () => true,
    connection,
    selectable: () => [],
  });
  let turns = 0;
  const ports = {
    path: 'eu',
    ask: () => {
      throw new Error('there is no relay');
    },
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    turn: async () => {
      turns += 1;
      clock.advance(10);
    },
    kindOf: () => undefined,
  };
  const list = async (more: Partial<ListQuestion> = {}) => {
    const lines: FleetLine[] = [];
    for await (const line of listLines(fleet, { ...question, ...more }, ports, new AbortController().signal))
      lines.push(line);
    return lines;
  };
  return { list, turns: () => turns };
}

const items = (lines: readonly FleetLine[]) =>
  lines.flatMap((line): Item[] => (line.type === 'item' ? [line.item] : []));

it('a node that finds nothing for long says that it is busy', async () => {
  const { list } = fleetOf(200, 1);
  const lines = await list({ labelSelector: 'a=b' });
  expect(items(lines)).toEqual([]);
  expect(lines.filter(({ type }) => type === 'busy').length).toBeGreaterThan(3);
});

it('an agent with many copies is read some copies in a turn', async () => {
  const { list, turns } = fleetOf(1, 300);
  expect(items(await list())).toHaveLength(300);
  expect(turns()).toBeGreaterThan(20);
});

it('a page counts the copies that are left if the node knows them, and continues behind its last copy', async () => {
  const { list } = fleetOf(2, 3);
  await list();
  const first = await list({ limit: 4 });
  expect(first.at(-1)).toEqual({ type: 'end', more: true, remaining: 2 });
  const position = first[0]!.type === 'begin' ? first[0].position : '';
  const { path, namespace, name } = items(first).at(-1)!;
  const rest = await list({ limit: 4, position, after: { path, namespace, name } });
  expect([...items(first), ...items(rest)].map((item) => `${item.path} ${item.name}`)).toEqual(
    ['eu:a0', 'eu:a1'].flatMap((agent) => ['000', '001', '002'].map((i) => `${agent} web-${i}`)),
  );
});
