import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataDirectory } from '../../../../center/supervisor/data-directory.ts';
import { assignPorts } from '../../../../center/supervisor/ports.ts';
import type { PlannedNode } from '../../../../center/topology/plan.ts';

const nodes = ['', 'eu', 'us'].map((id) => ({ id, path: id, role: id === '' ? 'center' : 'relay' }) as PlannedNode);

describe('the ports of a local tree', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'banyan-ports-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  async function portsBy(pid: number): Promise<number[]> {
    const data = join(root, String(pid));
    mkdirSync(data, { recursive: true });
    const assigned = await assignPorts(nodes, new DataDirectory(data), { pid });
    return [...assigned.values()].flatMap(({ api, mesh }) => [api, mesh]);
  }

  it('differ from those of a tree that starts at the same time, and from ports of outgoing connections', async () => {
    const [one, other] = [await portsBy(1001), await portsBy(1002)];
    expect(new Set([...one, ...other]).size).toBe(2 * 2 * nodes.length);
    expect(Math.max(...one, ...other)).toBeLessThan(32_768);
  });

  it('skip a port that another program uses', async () => {
    const [first] = await portsBy(1004);
    const taken = createServer().listen({ host: '127.0.0.1', port: first, exclusive: true });
    await once(taken, 'listening');
    try {
      rmSync(join(root, '1004'), { recursive: true });
      expect(await portsBy(1004)).not.toContain(first);
      expect(await portsBy(1004)).toHaveLength(2 * nodes.length);
    } finally {
      taken.close();
    }
  });

  it('are refused at once if the host is not of this machine', async () => {
    const [center] = nodes;
    const elsewhere = [{ ...center, listen: { host: '192.0.2.1' } } as PlannedNode];
    await expect(assignPorts(elsewhere, new DataDirectory(root), { pid: 1005 })).rejects.toMatchObject({
      code: 'EADDRNOTAVAIL',
    });
  });

  it('are the same as last time', async () => {
    expect(await portsBy(1003)).toEqual(await portsBy(1003));
  });
});
