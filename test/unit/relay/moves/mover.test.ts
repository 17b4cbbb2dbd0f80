import { describe, expect, it } from 'vitest';
import type { Move } from '../../../../core/move/move.ts';
import { id, type MeshShape, MoveMesh } from '../support/move-mesh.ts';

/** The center above two relays, with an agent below each and one at the first beside it. */
const shape: MeshShape = { relays: [0, 0], agents: [1, 2, 1] };
const deadlineSeconds = 60;
const make: Move = { order: 'MakeBeforeBreak', deadlineSeconds };
const breaks: Move = { order: 'BreakBeforeMake', deadlineSeconds };

function placed(sites: readonly number[], move: Move | undefined): MoveMesh {
  const mesh = new MoveMesh(shape);
  mesh.place(sites, move);
  mesh.settle();
  return mesh;
}
const running = (mesh: MoveMesh) => mesh.copies((copy) => copy !== 'none');
const part = (mesh: MoveMesh) => mesh.relays[0]!.total()?.move;
/** Edges of the mesh: first those to relays, then those to agents. */
const toAgent = (agent: number) => shape.relays.length + agent;

describe('a node that keeps the order of moves', () => {
  it('holds an old copy while the new destination is silent, and reports for whom and until when', () => {
    const mesh = placed([0], make);
    mesh.toggle(toAgent(1));
    const untilMs = mesh.clock.wallMs() + deadlineSeconds * 1000;
    mesh.place([1], make);
    mesh.settle();
    expect(running(mesh)).toEqual([0]);
    expect(part(mesh)).toMatchObject({ leaving: 1, joining: 1, waitsFor: ['r1:s1'], untilMs });
    mesh.connectAll();
    mesh.settle();
    expect(running(mesh)).toEqual([1]);
    expect(part(mesh)).toMatchObject({ leaving: 0, joining: 0, breaking: 0, overdue: 0 });
  });

  it('gives an old copy up at its deadline, counted from when it began to leave, and reports it', () => {
    const mesh = placed([0], make);
    mesh.toggle(toAgent(1));
    mesh.place([1], make);
    mesh.settle();
    mesh.clock.advance(deadlineSeconds * 1000 - 1);
    mesh.settle();
    expect(running(mesh)).toEqual([0]);
    for (const relay of mesh.relays) relay.start();
    mesh.clock.advance(1);
    mesh.settle();
    expect(running(mesh)).toEqual([]);
    expect(part(mesh)).toMatchObject({ leaving: 0, overdue: 1 });
    mesh.place([1, 2], make);
    mesh.settle();
    expect(part(mesh)?.overdue).toBe(0);
  });

  it('handles at its start a deadline that passed while it was away', () => {
    const mesh = placed([0], make);
    mesh.toggle(toAgent(1));
    mesh.place([1], make);
    mesh.settle();
    mesh.clock.advance(deadlineSeconds * 2000);
    for (const relay of mesh.relays) relay.start();
    mesh.settle();
    expect(running(mesh)).toEqual([]);
  });

  it('lets a shrinking placement shrink at once, and a growing one grow at once', () => {
    const mesh = placed([0, 1], make);
    mesh.place([0], make);
    mesh.settle();
    expect(running(mesh)).toEqual([0]);
    mesh.place([0, 1, 2], make);
    mesh.settle();
    expect(running(mesh)).toEqual([0, 1, 2]);
  });

  it('holds the last copies when nothing matches any more, until the deadline', () => {
    const mesh = placed([0], make);
    mesh.label(shape, 0, false);
    mesh.settle();
    expect(running(mesh)).toEqual([0]);
    mesh.clock.advance(deadlineSeconds * 1000);
    mesh.settle();
    expect(running(mesh)).toEqual([]);
  });

  it('decides inside a subtree that is cut off, if both sides are in it', () => {
    const mesh = placed([0], make);
    mesh.label(shape, 2, false);
    mesh.place([0, 2], make);
    mesh.settle();
    mesh.toggle(0);
    mesh.label(shape, 0, false);
    mesh.label(shape, 2, true);
    mesh.settle();
    expect(running(mesh)).toEqual([2]);
  });

  it('makes a new copy when the old one has gone, and not before', () => {
    const mesh = placed([0], breaks);
    mesh.toggle(toAgent(0));
    mesh.place([1], breaks);
    mesh.settle();
    expect(running(mesh)).toEqual([0]);
    expect(part(mesh)).toMatchObject({ leaving: 1, joining: 1, waitsFor: ['r0:s0'] });
    mesh.connectAll();
    mesh.settle(() => expect(running(mesh).length).toBeLessThan(2));
    expect(running(mesh)).toEqual([1]);
  });

  it('accepts the answer of an agent to a higher number that the agent was asked before', () => {
    const mesh = placed([0], breaks);
    mesh.agents[0]!.wasAskedHigher = 5;
    mesh.place([1], breaks);
    mesh.settle();
    expect([running(mesh), part(mesh)?.leaving]).toEqual([[1], 0]);
  });

  it('makes a new copy at the deadline if the old one does not answer, and reports it', () => {
    const mesh = placed([0], breaks);
    mesh.toggle(toAgent(0));
    mesh.place([1], breaks);
    mesh.settle();
    mesh.clock.advance(deadlineSeconds * 1000);
    mesh.settle();
    expect(mesh.copies((copy) => copy === 'available')).toEqual([0, 1]);
    expect(part(mesh)!.overdue).toBeGreaterThan(0);
  });

  it('waits for a silent relay only if a copy may run below it', () => {
    const mesh = placed([0], breaks);
    mesh.toggle(1);
    mesh.place([2], breaks);
    mesh.settle();
    expect(running(mesh)).toEqual([2]);
    mesh.connectAll();
    mesh.settle();
    mesh.toggle(0);
    mesh.place([1], breaks);
    mesh.settle();
    expect(running(mesh)).toEqual([2]);
    expect(part(mesh)).toMatchObject({ joining: 1, unknown: 1, waitsFor: ['r0'] });
  });

  it('keeps the placement at a relay that no longer matches while a relay below it is silent, so that the silent one learns that its copy is old', () => {
    const deep: MeshShape = { relays: [0, 1, 0], agents: [2, 3] };
    const mesh = new MoveMesh(deep);
    mesh.place([0], make);
    mesh.settle();
    mesh.toggle(1);
    mesh.toggle(4);
    mesh.place([1], make);
    mesh.settle();
    mesh.toggle(1);
    mesh.settle();
    expect(running(mesh)).toEqual([0]);
    mesh.toggle(4);
    mesh.settle();
    expect(running(mesh)).toEqual([1]);
  });

  it('lets everything continue when the placement has no order any more', () => {
    const mesh = placed([0], make);
    mesh.toggle(toAgent(1));
    mesh.place([1], make);
    mesh.settle();
    mesh.place([1], undefined);
    mesh.settle();
    expect(running(mesh)).toEqual([]);
    expect(part(mesh)).toBeUndefined();
  });

  it('leaves nothing behind of a placement that is deleted while it moves, even at an agent that was away', () => {
    const mesh = placed([0], breaks);
    mesh.toggle(toAgent(0));
    mesh.place([1], breaks);
    mesh.settle();
    expect(mesh.relays[1]!.keys('s0')).toContain(`w/${id}`);
    mesh.remove();
    mesh.settle();
    mesh.connectAll();
    mesh.settle();
    expect(running(mesh)).toEqual([]);
    const left = mesh.relays.flatMap((relay) => relay.children.flatMap((child) => relay.keys(child)));
    expect(left).toEqual([]);
  });
});
