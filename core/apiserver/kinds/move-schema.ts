/** `spec.move` and `status.moving` of an EdgePlacement: see core/move/. */
import { deadlineDefaultSeconds } from '../../move/move.ts';
import { integer, object, string, time } from './schema-builders.ts';

/** A week. People would forget a longer deadline. */
const deadlineMaxSeconds = 7 * 24 * 3600;

export const moveSpec = object(
  'The order of old and new copies when the set of matching destinations changes. Left out: the strategy Auto.',
  {
    strategy: string(
      'MakeBeforeBreak: an old copy stays until the new copies are available. BreakBeforeMake: a new copy is made when the old copies are gone. None: a copy that matches no more goes at once. Auto: BreakBeforeMake if the placement carries a ReadWriteOnce or ReadWriteOncePod volume (through a PersistentVolumeClaim or a StatefulSet), else MakeBeforeBreak.',
      { enum: ['MakeBeforeBreak', 'BreakBeforeMake', 'None', 'Auto'], default: 'Auto' },
    ),
    deadlineSeconds: integer(
      'How long one side of a move waits for the other side. Then it goes on without waiting. If no destination matches any more, the last copies stay for this time; with None, they go at once.',
      {
        format: 'int32',
        minimum: 1,
        maximum: deadlineMaxSeconds,
        default: deadlineDefaultSeconds,
      },
    ),
  },
);

export const movingStatusSchema = object('The progress of a move. Absent while spec.move.strategy is None.', {
  strategy: string('The strategy in effect.', { enum: ['MakeBeforeBreak', 'BreakBeforeMake'] }),
  leaving: integer('Destinations that do not match any more and still have their copy, or may have it.', {
    minimum: 0,
  }),
  joining: integer('Destinations that match now and have no available copy yet.', { minimum: 0 }),
  overdue: integer('Destinations that went on at the deadline, in this generation of the placement.', { minimum: 0 }),
  until: time('When the deadline of the first waiting destination ends. Then it goes on without waiting.'),
});
