/** The changes that feeds announce. The keys are names of tables, as the producer or consumer was opened. */
import { Topic } from '../store/topics.ts';

/** Rows of a producer changed: there is something to send. */
export const producerRowsTopic = new Topic<string>('producer rows');

/** A consumer holds other rows against deletion than before. */
export const heldRowsTopic = new Topic<string>('held rows');

/** Other entries of a consumer are quarantined than before. */
export const quarantineTopic = new Topic<string>('quarantine');
