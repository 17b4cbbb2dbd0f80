/** Rules of children that go from one sibling to another, taken away. */
import { ChildSession } from '../../../core/session/child-session.ts';
import { WatermarkGate } from '../../../core/session/watermark-gate.ts';
import { Ownership } from '../../../relay/replicas/ownership.ts';
import { ReplicaPlace } from '../../../relay/replicas/replica-place.ts';
import { HandedReleases } from '../../../relay/rollout/handed.ts';
import type { Canaries } from './canary.ts';

export const siblingCanaries: Canaries = {
  'attach-sequence-ignored': {
    break() {
      ReplicaPlace.prototype.superseded = () => undefined;
      const { attached } = Ownership.prototype;
      // Whoever speaks last has the child.
      Ownership.prototype.attached = function (replica, child, _sequence, role) {
        const { sequence = 0 } = this.children.get(child) ?? {};
        return attached.call(this, replica, child, sequence + 1, role);
      };
    },
  },
  'watermark-gate-open': {
    break() {
      WatermarkGate.prototype.isOpen = () => true;
    },
  },
  'seen-below-forgotten': {
    break() {
      // What the children of a node that has lost its store have seen above is nobody's business.
      Object.defineProperty(ChildSession.prototype, 'parentHasReplicas', { get: () => false });
    },
  },
  'handed-unheard': {
    break() {
      // What an agent says that it was handed by a sibling is nobody's business.
      HandedReleases.prototype.isNews = () => false;
      HandedReleases.prototype.hasIt = () => false;
      HandedReleases.prototype.isBehind = () => undefined;
    },
  },
  'released-before-said': {
    break() {
      // The new owner counts the child before the old one has left it out.
      const { attached } = Ownership.prototype;
      Ownership.prototype.attached = function (replica, child, sequence, role) {
        attached.call(this, replica, child, sequence, role);
        const held = this.children.get(child);
        if (held && !held.granted) this.children.set(child, { ...held, granted: true });
      };
    },
  },
};
