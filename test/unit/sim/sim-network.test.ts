import { describe, expect, it } from 'vitest';
import type { LinkEvents } from '../../../core/wire/link.ts';
import { SimProcess } from '../../sim/sim-process.ts';
import { World } from '../../sim/world.ts';

const deaf: LinkEvents = { onFrame() {}, onBytes() {}, onDrain() {}, onClose() {} };
const dialTimeoutMs = 2_000;

describe('the simulated network', () => {
  const worldOf = async () => {
    const world = new World(1, [
      { path: '', role: 'center', labels: {}, spaces: [] },
      { path: 'a1', role: 'agent', labels: {}, spaces: [] },
    ]);
    const [center, agent] = [world.hosts.get('')!, world.hosts.get('a1')!];
    for (const host of [center, agent]) host.simProcess = new SimProcess(() => {});
    await world.network.of(center).listen(() => deaf);
    return { world, center, agent };
  };

  it('connects a process that dials', async () => {
    const { world, center, agent } = await worldOf();
    void world.network.dialer(agent, center).dial(deaf, dialTimeoutMs);
    await world.run(dialTimeoutMs);
    expect(world.network.open.size).toBe(1);
  });

  it('does not connect a process that has ended while it dialled, even if the next one is there', async () => {
    const { world, center, agent } = await worldOf();
    world.network.line(agent, center).silent.parent = true;
    void world.network.dialer(agent, center).dial(deaf, dialTimeoutMs);
    await world.run(dialTimeoutMs / 2);
    agent.simProcess.end();
    agent.simProcess = new SimProcess(() => {});
    world.network.mend(agent, [center]);
    await world.run(dialTimeoutMs);
    expect(world.network.open.size).toBe(0);
  });
});
