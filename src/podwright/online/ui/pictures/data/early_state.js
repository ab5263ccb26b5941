// Starts the stream of the state before the page has its elements, which takes longer.

import { model } from "./model.js";

model().use();
